{{- define "gateway.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: inference-gateway
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end -}}

{{- define "gateway.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{- define "gateway.account" -}}
{{ .Values.serviceAccountName | default (include "gateway.name" .) }}
{{- end -}}
