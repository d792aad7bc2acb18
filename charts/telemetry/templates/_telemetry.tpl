{{- /* (port, readiness path, liveness path): quick until it serves, then seldom. */ -}}
{{- define "telemetry.probes" -}}
startupProbe:
  httpGet:
    path: {{ index . 1 }}
    port: {{ index . 0 }}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 90
readinessProbe:
  httpGet:
    path: {{ index . 1 }}
    port: {{ index . 0 }}
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: {{ index . 2 }}
    port: {{ index . 0 }}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
{{- end }}

{{- /* Whose pods are asked: application: component and port. Not by watching Kubernetes: Debian builds Prometheus without. */ -}}
{{- define "telemetry.applications" -}}
sandbox: {port: 8090}
space-admin-api: {component: admin-api, port: 8080}
space-api: {component: api, port: 8080}
space-cluster-controller: {component: controller, port: 8080}
space-internal-api: {component: internal-api, port: 8080}
{{- end }}

{{- /* Prometheus' configuration. Each application's pods are the addresses of its headless Service. */ -}}
{{- define "telemetry.scraping" -}}
global:
  scrape_interval: {{ .Values.scrapeIntervalSeconds }}s
  scrape_timeout: {{ min .Values.scrapeIntervalSeconds 4 }}s
scrape_configs:
{{- range $name, $application := include "telemetry.applications" . | fromYaml }}
  - job_name: {{ $name }}
    dns_sd_configs:
      - names: [{{ include "space.fullname" $ }}-{{ $name }}]
        type: A
        port: {{ int $application.port }}
        refresh_interval: {{ min $.Values.scrapeIntervalSeconds 5 }}s
{{- end }}
  - job_name: {{ include "space.fullname" . }}
    static_configs:
      - targets: [localhost:9428, localhost:9090]
{{- end }}
