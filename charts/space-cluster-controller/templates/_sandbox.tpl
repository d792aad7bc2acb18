{{- /* How the pods of sandboxes are made. */ -}}
{{- define "space.sandboxEnv" -}}
{{- with .Values.sandbox }}
- name: SPACE_SANDBOX_IMAGE
  value: {{ .image | default (include "space.image" $.Values.image) | quote }}
- name: SPACE_SANDBOX_NODE_SELECTOR
  value: {{ include "space.nodeSelector" (list .nodeGroup .nodeSelectorExtras "sandbox.") | quote }}
{{- with .startTimeoutSeconds }}
- name: SPACE_SANDBOX_START_TIMEOUT_S
  value: {{ . | quote }}
{{- end }}
{{- with .parallelStarts }}
- name: SPACE_SANDBOX_PARALLEL_STARTS
  value: {{ int64 . | quote }}
{{- end }}
{{- end }}
{{- end }}
