{{- /*
What every chart of this folder shares. The file is the same, byte for byte, in each of them (a render test compares
them): a library chart would have to be fetched before each render, and the definitions then also agree under an umbrella.

Arguments that are lists are named in the comment above each definition.
*/ -}}

{{- /* Object names are fixed, since others reach the objects by them: the release's name, or below an umbrella, where all
charts have one release, the chart's. */ -}}
{{- define "space.fullname" -}}
{{- if .Chart.IsRoot }}{{ .Release.Name }}{{ else }}{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- /* (root, component): the labels that selectors use. Immutable in a Deployment, so nothing that grows with a version. */ -}}
{{- define "space.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- /* (root, component): labels of pods. Without versions: a chart release alone is no reason to restart pods. */ -}}
{{- define "space.podLabels" -}}
{{- $root := index . 0 -}}
{{ include "space.selectorLabels" . }}
app.kubernetes.io/part-of: space
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- end }}

{{- /* (root, component, suffix of the name): the metadata of an object, all but its annotations. */ -}}
{{- define "space.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "space.fullname" $root }}{{ index . 2 }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "space.podLabels" . | nindent 2 }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* (an image block): repository:tag@digest, each part that is there. With a digest the tag is only for the reader. */ -}}
{{- define "space.image" -}}
{{- .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* (group, extras, where they stand in the values): the merged node selector as JSON. Extras add, they never replace. */ -}}
{{- define "space.nodeSelector" -}}
{{- $group := index . 0 -}}
{{- $where := index . 2 -}}
{{- $selector := dict -}}
{{- with $group }}{{ $_ := set $selector "space-smoke.dev/group" . }}{{ end -}}
{{- range $key, $value := index . 1 -}}
{{- if hasKey $selector $key -}}
{{- fail (printf "%snodeSelectorExtras.%s=%s: %snodeGroup already sets this label to %q, and extras may not replace it; remove the extra, or change %snodeGroup" $where $key $value $where $group $where) -}}
{{- end -}}
{{- $_ := set $selector $key $value -}}
{{- end -}}
{{- toJson $selector -}}
{{- end }}

{{- /* The part of a pod's spec that all pods of these charts share: where it runs and as whom. */ -}}
{{- define "space.podSpec" -}}
# Service links would inject variables such as SPACE_REDIS_PORT, which look like settings of the services.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "space.nodeSelector" (list .Values.nodeGroup .Values.nodeSelectorExtras "") | fromJson }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The part of a container that all containers of these charts share. */ -}}
{{- define "space.container" -}}
image: {{ include "space.image" .Values.image }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Annotations of a `helm test` pod: it is removed when it passed, and kept for its logs when it failed. */ -}}
{{- define "space.testAnnotations" -}}
helm.sh/hook: test
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
