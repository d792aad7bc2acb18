{{- /*
What the charts of the services' image share: the settings, probes and volumes of one serving process. Like every file of
definitions it is the same in each chart that has it.
*/ -}}

{{- /* What a schema cannot say: rules between two values. */ -}}
{{- define "space.validateService" -}}
{{- if and .Values.mutation (ne .Values.profile "kind") }}
{{- fail (printf "mutation=%q with profile=%q: a planted fault is only for a bench; empty mutation, or set profile to kind" .Values.mutation .Values.profile) }}
{{- end }}
{{- if ge (float64 .Values.drainSeconds) (float64 .Values.terminationGracePeriodSeconds) }}
{{- fail (printf "drainSeconds=%v: must be less than terminationGracePeriodSeconds=%v, or pods are killed while they drain; lower the one or raise the other" .Values.drainSeconds .Values.terminationGracePeriodSeconds) }}
{{- end }}
{{- end }}

{{- /* (root, a database block): settings that migrations need as well, each with the URL of its own role. */ -}}
{{- define "space.databaseEnv" -}}
{{- $database := index . 1 -}}
- name: SPACE_PROFILE
  value: {{ (index . 0).Values.profile | quote }}
- name: SPACE_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ $database.secretName }}
      key: {{ $database.secretKey }}
{{- with $database.pool }}
- name: SPACE_DATABASE_POOL
  value: {{ int64 . | quote }}
{{- end }}
{{- end }}

{{- /* How a process of a service lives, ends, and tells of itself. */ -}}
{{- define "space.lifecycleEnv" -}}
{{- with .Values.mutation }}
- name: SPACE_MUTATION
  value: {{ . | quote }}
{{- end }}
{{- with .Values.telemetry.otlpEndpoint }}
- name: SPACE_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
- name: SPACE_DRAIN_S
  value: {{ .Values.drainSeconds | quote }}
{{- end }}

{{- define "space.namespaceEnv" -}}
- name: SPACE_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}

{{- define "space.podNameEnv" -}}
- name: SPACE_POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}

{{- /* The port and the probes of a container that serves. */ -}}
{{- define "space.serving" -}}
ports:
  - name: http
    containerPort: 8080
readinessProbe:
  httpGet:
    path: /readyz
    port: http
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: /healthz
    port: http
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
startupProbe:
  httpGet:
    path: /healthz
    port: http
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 60
{{- end }}

{{- /* The database's URL names the authority's file at this place. */ -}}
{{- define "space.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.database.tls.enabled }}
- name: postgres-ca
  mountPath: /etc/space/postgres-ca
  readOnly: true
{{- end }}
{{- end }}

{{- define "space.volumes" -}}
- name: tmp
  emptyDir: {}
{{- with .Values.database.tls }}
{{- if .enabled }}
- name: postgres-ca
  configMap:
    name: {{ .caConfigMap }}
    items:
      - key: {{ .caKey }}
        path: ca.crt
{{- end }}
{{- end }}
{{- end }}

{{- /* The strategy of a Deployment whose replicas take over from one another. */ -}}
{{- define "space.rollout" -}}
revisionHistoryLimit: 3
progressDeadlineSeconds: 180
strategy:
  type: RollingUpdate
  rollingUpdate:
    maxSurge: 1
    maxUnavailable: 0
{{- end }}
