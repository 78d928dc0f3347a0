{{- define "gateway.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: inference-gateway
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
{{ include "gateway.version" . }}
{{- end -}}

{{- define "gateway.version" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end -}}

{{- define "gateway.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{- define "gateway.account" -}}
{{ .Values.serviceAccountName | default (include "gateway.name" .) }}
{{- end -}}


{{- define "gateway.instances" -}}
{{ if .Values.autoscaling.enabled }}{{ .Values.autoscaling.maxReplicas }}{{ else }}{{ .Values.replicas }}{{ end }}
{{- end -}}

{{- define "gateway.needsSharedState" -}}
More than one instance needs DATABASE_URL and REDIS_URL: balances and limits would be counted by each instance alone. Add entries for both to the Secret `existingSecret` and their names to `secretSettings`, or set `replicas: 1` and `autoscaling.enabled: false`.
{{- end -}}

{{- define "gateway.needsTrustedProxies" -}}
The ingress needs settings.GATEWAY_TRUSTED_PROXIES: without it every caller has the address of the ingress controller, so that all share one rate limit and no IP allowlist of a key works. Set the addresses of the controller's pods, such as "10.1.2.0/24", or "" if connections reach the gateway with the callers' own addresses.
{{- end -}}
