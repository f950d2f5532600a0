{{- /* Whole folders: a file that is mounted on its own is never changed by kubelet. */}}
{{- define "vmcp.mounted" -}}
- name: config
  at: config
  configMap: {{ include "vmcp.fullname" . }}
{{- with .Values.apiKeys.existingSecret }}
- name: api-keys
  at: api-keys
  secret: {{ . | quote }}
{{- end }}
{{- with .Values.sealKey.existingSecret }}
- name: seal-key
  at: seal-key
  secret: {{ . | quote }}
{{- end }}
{{- with .Values.tls.existingSecret }}
- name: tls
  at: tls
  secret: {{ . | quote }}
{{- end }}
{{- range $index, $name := .Values.mounts.secrets }}
- name: secret-{{ $index }}
  at: secrets/{{ $name }}
  secret: {{ $name | quote }}
{{- end }}
{{- range $index, $name := .Values.mounts.configMaps }}
- name: configmap-{{ $index }}
  at: configmaps/{{ $name }}
  configMap: {{ $name | quote }}
{{- end }}
{{- end }}

{{- define "vmcp.volumes" -}}
{{- range include "vmcp.mounted" . | fromYamlArray }}
- name: {{ .name }}
  {{- if .secret }}
  secret:
    secretName: {{ .secret | quote }}
    # For the group of the pod (podSecurityContext.fsGroup) alone.
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ .configMap | quote }}
  {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vmcp.volumeMounts" -}}
{{- range include "vmcp.mounted" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: /etc/vmcp/{{ .at }}
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
