{{- /* (root, a database block): settings that the migrations need as well, each with the URL of its own role. */ -}}
{{- define "space-api.commonEnv" -}}
{{- $database := index . 1 -}}
- name: SPACE_PROFILE
  value: {{ (index . 0).Values.profile | quote }}
- name: SPACE_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ $database.secretName }}
      key: {{ $database.secretKey }}
{{- end }}

{{- /* The limiters. Only the mode is always there; an optional value that was not set leaves no variable behind. */ -}}
{{- define "space-api.limiterEnv" -}}
{{- with .Values.redis.url }}
- name: SPACE_REDIS_URL
  value: {{ . | quote }}
{{- end }}
- name: SPACE_API_CLIENT_CONCURRENCY_MODE
  value: {{ .Values.limiters.clientConcurrency.mode | quote }}
{{- with .Values.limiters.clientConcurrency.limit }}
- name: SPACE_API_CLIENT_CONCURRENCY_LIMIT
  value: {{ int64 . | quote }}
{{- end }}
{{- with .Values.limiters.clientConcurrency.knownClients }}
- name: SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.limiters.clientConcurrency.leaseSeconds }}
- name: SPACE_API_CLIENT_CONCURRENCY_LEASE_S
  value: {{ . | quote }}
{{- end }}
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

{{- /* What a schema cannot say: rules between two values. */ -}}
{{- define "space-api.validate" -}}
{{- if and .Values.mutation (ne .Values.profile "kind") }}
{{- fail (printf "mutation=%q with profile=%q: a planted fault is only for a bench; empty mutation, or set profile to kind" .Values.mutation .Values.profile) }}
{{- end }}
{{- if ge (float64 .Values.drainSeconds) (float64 .Values.terminationGracePeriodSeconds) }}
{{- fail (printf "drainSeconds=%v: must be less than terminationGracePeriodSeconds=%v, or pods are killed while they drain; lower the one or raise the other" .Values.drainSeconds .Values.terminationGracePeriodSeconds) }}
{{- end }}
{{- end }}
