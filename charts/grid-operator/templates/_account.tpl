{{- /* (root, component): the account of a service that talks to Kubernetes, bound to the Role of the same name. */ -}}
{{- define "space.account" -}}
{{- $root := index . 0 -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "space.metadata" (list $root (index . 1) "") | nindent 2 }}
# Pods that need the token ask for it.
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "space.metadata" (list $root (index . 1) "") | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "space.fullname" $root }}
subjects:
  - kind: ServiceAccount
    name: {{ include "space.fullname" $root }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
