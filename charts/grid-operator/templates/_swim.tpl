{{- /* How the site gossips, as its process is told. */ -}}
{{- define "grid.swimEnv" -}}
{{- $port := int64 .Values.swim.port -}}
- name: GRID_NETWORK_NAME
  value: {{ .Values.network.name | quote }}
- name: GRID_SWIM_SITE_NAME
  value: {{ .Values.swim.siteName | quote }}
- name: GRID_SWIM_PROFILE
  value: {{ .Values.swim.profile | quote }}
- name: GRID_SWIM_BIND_ADDR
  value: "0.0.0.0:{{ $port }}"
{{- if .Values.swim.advertiseAddress }}
- name: GRID_SWIM_ADVERTISE_ADDR
  value: {{ .Values.swim.advertiseAddress | quote }}
{{- else }}
# Peers answer to what the site says, never to where a packet seems to come from.
- name: GRID_OWN_IP
  valueFrom:
    fieldRef:
      fieldPath: {{ ternary "status.hostIP" "status.podIP" .Values.swim.hostPort }}
- name: GRID_SWIM_ADVERTISE_ADDR
  value: "$(GRID_OWN_IP):{{ $port }}"
{{- end }}
{{- with .Values.swim.seeds }}
- name: GRID_SWIM_SEEDS
  value: {{ join "," . | quote }}
{{- end }}
- name: GRID_REQUEST_KEEP_S
  value: {{ int64 .Values.requestKeepSeconds | quote }}
{{- end }}

{{- /* UDP for packets and TCP for exchanges, on one number. */ -}}
{{- define "grid.swimPorts" -}}
{{- range $protocol := list "UDP" "TCP" }}
- name: swim-{{ lower $protocol }}
  containerPort: {{ int64 $.Values.swim.port }}
  protocol: {{ $protocol }}
  {{- if $.Values.swim.hostPort }}
  hostPort: {{ int64 $.Values.swim.port }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Rules between two values. */ -}}
{{- define "grid.validate" -}}
{{- with .Values.swim.service }}
{{- if and .nodePort (ne .type "NodePort") }}
{{- fail (printf "swim.service.nodePort=%v with swim.service.type=%q: a port of the nodes is only for a Service of type NodePort; remove the one or change the other" .nodePort .type) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Objects outside of namespaces: releases of one name in two namespaces must not share them. */ -}}
{{- define "grid.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "space.fullname" .) | trunc 253 -}}
{{- end }}

{{- define "grid.clusterMetadata" -}}
name: {{ include "grid.clusterName" . }}
labels:
  {{- include "space.podLabels" (list . "operator") | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
