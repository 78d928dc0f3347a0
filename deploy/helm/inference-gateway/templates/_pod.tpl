What the pods of the gateway and of the migration job share.

{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "gateway.settings" -}}
- name: DATA_DIR
  value: /data
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name := .Values.secretSettings }}
- name: {{ $name }}_FILE
  value: /run/secrets/gateway/{{ $name }}
{{- end }}
{{- if .Values.extraEnv }}
{{ toYaml .Values.extraEnv }}
{{- end }}
{{- end -}}

{{- define "gateway.mounts" -}}
- name: data
  mountPath: /data
- name: secrets
  mountPath: /run/secrets/gateway
  readOnly: true
{{- if .Values.extraVolumeMounts }}
{{ toYaml .Values.extraVolumeMounts }}
{{- end }}
{{- end -}}

{{- define "gateway.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .Values.existingSecret }}
    # 0440: the group is the pod's fsGroup.
    defaultMode: 288
{{- if .Values.extraVolumes }}
{{ toYaml .Values.extraVolumes }}
{{- end }}
{{- end -}}

{{- define "gateway.placement" -}}
{{- if .Values.priorityClassName }}
priorityClassName: {{ .Values.priorityClassName }}
{{- end }}
{{- if .Values.nodeSelector }}
nodeSelector:
  {{- toYaml .Values.nodeSelector | nindent 2 }}
{{- end }}
{{- if .Values.tolerations }}
tolerations:
  {{- toYaml .Values.tolerations | nindent 2 }}
{{- end }}
{{- if .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml .Values.image.pullSecrets | nindent 2 }}
{{- end }}
{{- end -}}

The names of everything that is set, each between spaces, without _FILE.
{{- define "gateway.names" -}}
{{ range $name := .Values.secretSettings }} {{ $name }} {{ end }}
{{- range $name, $value := .Values.settings }} {{ $name | trimSuffix "_FILE" }} {{ end }}
{{- range $entry := .Values.extraEnv }} {{ $entry.name | trimSuffix "_FILE" }} {{ end }}
{{- end -}}
