{{- /* (root, app or owner): the name of the Secret with that role's password and url. */ -}}
{{- define "postgres.secret" -}}
{{- $role := index . 1 -}}
{{- get (get (index . 0).Values.auth $role) "existingSecret" | default (printf "%s-%s" (include "space.fullname" (index . 0)) $role) -}}
{{- end }}
