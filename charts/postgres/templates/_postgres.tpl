{{- /* Where every client finds the authority's certificate; its volume is mounted at the folder. */ -}}
{{- define "postgres.ca" -}}
/etc/space/postgres-ca/ca.crt
{{- end }}

{{- /* (root, app or owner): the URL by which services connect as that role. */ -}}
{{- define "postgres.url" -}}
{{- $root := index . 0 -}}
{{- $role := get $root.Values.auth (index . 1) -}}
{{- printf "postgresql://%s:%s@%s:5432/%s" $role.user $role.password (include "space.fullname" $root) $root.Values.database -}}
{{- if $root.Values.tls.enabled }}?sslmode=verify-full&sslrootcert={{ include "postgres.ca" $root }}{{ end -}}
{{- end }}

{{- /* (root, app or owner): the name of the Secret with that role's password and url. */ -}}
{{- define "postgres.secret" -}}
{{- $role := get (index . 0).Values.auth (index . 1) -}}
{{- coalesce $role.existingSecret $role.secretName (printf "%s-%s" (include "space.fullname" (index . 0)) (index . 1)) -}}
{{- end }}
