{{- /*
Rules between the charts, which none of their own schemas can say. Each definition writes one line for each breach: the key,
its value, the rule. validate.yaml fails with all of them.
*/ -}}

{{- /* (value): as a message shows it: a number however it was written, a URL without its credentials. */ -}}
{{- define "space-cluster.shown" -}}
{{- if kindIs "invalid" . }}unset
{{- else if kindIs "string" . }}{{ regexReplaceAll "//[^/@]*@" . "//***@" | quote }}
{{- else if kindIs "bool" . }}{{ . }}
{{- else }}{{ float64 . }}
{{- end -}}
{{- end }}

{{- /* The store of a Kind bench is a Service that this chart does not install; a store of the caller's has a longer name. */ -}}
{{- define "space-cluster.kindEndpoint" -}}
{{- range $chart := list "space-api" "space-admin-api" "space-cluster-controller" }}
{{- $url := (get $.Values $chart).redis.url }}
{{- if regexMatch "^rediss?://([^/@]*@)?space-redis([:/?#]|$)" $url }}
{{ $chart }}.redis.url={{ include "space-cluster.shown" $url }}: is the store of a Kind bench, which this chart does not install; name your own store, or leave it empty
{{- end }}
{{- end }}
{{- end }}

{{- /* The API and the controller draw from one bucket, which refills by each caller's own numbers. */ -}}
{{- define "space-cluster.oneBucket" -}}
{{- $api := get .Values "space-api" }}
{{- range $chart := list "space-admin-api" "space-cluster-controller" }}
{{- $other := get $.Values $chart }}
{{- if ne $other.redis.url $api.redis.url }}
{{ $chart }}.redis.url={{ include "space-cluster.shown" $other.redis.url }}: must equal space-api.redis.url={{ include "space-cluster.shown" $api.redis.url }}, since they share one activation bucket
{{- end }}
{{- range $cap := list "enabled" "burst" "refillPerSecond" }}
{{- $theirs := include "space-cluster.shown" (index ($other.limiters.activation | default dict) $cap) }}
{{- $ours := include "space-cluster.shown" (index ($api.limiters.activation | default dict) $cap) }}
{{- if ne $theirs $ours }}
{{ $chart }}.limiters.activation.{{ $cap }}={{ $theirs }}: must equal space-api.limiters.activation.{{ $cap }}={{ $ours }}, since they share one activation bucket
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* All pools of all replicas, one more replica of each while it is rolled out, one connection of each controller that
listens, and the migrations'. */ -}}
{{- define "space-cluster.connections" -}}
{{- with .Values.database.maxConnections }}
{{- $needed := 1 }}
{{- $terms := list "1 of the migrations" }}
{{- $unknown := false }}
{{- range $chart := list "space-api" "space-admin-api" "space-internal-api" "space-cluster-controller" }}
{{- $values := get $.Values $chart }}
{{- if $values.database.pool }}
{{- $each := add $values.database.pool (ternary 1 0 (eq $chart "space-cluster-controller")) }}
{{- $pods := add $values.replicas 1 }}
{{- $needed = add $needed (mul $pods $each) }}
{{- $terms = append $terms (printf "%d x %d of %s" $pods $each $chart) }}
{{- else }}
{{- $unknown = true }}
{{ $chart }}.database.pool=unset: must be set when database.maxConnections is, or the budget cannot be kept
{{- end }}
{{- end }}
{{- if and (not $unknown) (gt $needed (int64 .)) }}
database.maxConnections={{ int64 . }}: must be at least {{ $needed }} ({{ join " + " $terms }}; one more pod of each for a rollout); raise it, or lower replicas or database.pool
{{- end }}
{{- end }}
{{- end }}
