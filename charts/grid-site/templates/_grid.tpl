{{- define "grid-site.network" -}}
{{- .Values.gridNetwork.name | default .Release.Name -}}
{{- end }}

{{- /* (root, name, component): the metadata of a resource, which is in no namespace. */ -}}
{{- define "grid-site.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
labels:
  app.kubernetes.io/name: {{ $root.Chart.Name }}
  app.kubernetes.io/instance: {{ $root.Release.Name }}
  app.kubernetes.io/component: {{ index . 2 }}
  app.kubernetes.io/part-of: grid
  app.kubernetes.io/managed-by: {{ $root.Release.Service }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}
