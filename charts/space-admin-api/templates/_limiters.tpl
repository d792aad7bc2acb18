{{- /*
The limiters' settings. The API and the controller draw from one bucket, so what they render must agree. Only the mode is
always there; an optional value that was not set leaves no variable behind.
*/ -}}

{{- define "space.storeEnv" -}}
{{- with .Values.redis.url }}
- name: SPACE_REDIS_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "space.clientConcurrencyEnv" -}}
{{- with .Values.limiters.clientConcurrency }}
- name: SPACE_API_CLIENT_CONCURRENCY_MODE
  value: {{ .mode | quote }}
{{- with .limit }}
- name: SPACE_API_CLIENT_CONCURRENCY_LIMIT
  value: {{ int64 . | quote }}
{{- end }}
{{- with .knownClients }}
- name: SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .leaseSeconds }}
- name: SPACE_API_CLIENT_CONCURRENCY_LEASE_S
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "space.activationEnv" -}}
{{- with .Values.limiters.activation }}
{{- if kindIs "bool" .enabled }}
- name: SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED
  value: {{ .enabled | quote }}
{{- end }}
{{- with .burst }}
- name: SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST
  value: {{ int64 . | quote }}
{{- end }}
{{- with .refillPerSecond }}
- name: SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* For NOTES: the store without its credentials. */ -}}
{{- define "space.shownStore" -}}
{{- regexReplaceAll "//[^/@]*@" .Values.redis.url "//***@" -}}
{{- end }}
