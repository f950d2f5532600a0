{{- define "vmcp.pod" -}}
{{- with include "vmcp.serviceAccountName" . }}
serviceAccountName: {{ . }}
{{- end }}
automountServiceAccountToken: {{ include "vmcp.isDynamic" . | empty | not }}
# Variables that are named after other Services of the namespace are no settings of ours.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: vmcp
    {{- include "vmcp.container" . | nindent 4 }}
volumes:
  {{- include "vmcp.volumes" . | trim | nindent 2 }}
{{- include "vmcp.scheduling" . }}
{{- end }}

{{- define "vmcp.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
{{- $usual := dict "labelSelector" (dict "matchLabels" (include "vmcp.selectorLabels" $ | fromYaml)) }}
topologySpreadConstraints:
  {{- range . }}
  - {{- hasKey . "labelSelector" | ternary . (merge (deepCopy .) $usual) | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "vmcp.container" -}}
image: {{ include "vmcp.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  {{- include "vmcp.args" . | nindent 2 }}
{{- with include "vmcp.env" . }}
env:
  {{- trim . | nindent 2 }}
{{- end }}
ports:
  - name: mcp
    containerPort: 4483
  {{- if .Values.metrics.enabled }}
  - name: operations
    containerPort: 9464
  {{- end }}
startupProbe:
  {{- include "vmcp.probe" (dict "root" . "path" "/health" "times" .Values.startupProbe) | nindent 2 }}
livenessProbe:
  {{- include "vmcp.probe" (dict "root" . "path" "/health" "times" .Values.livenessProbe) | nindent 2 }}
readinessProbe:
  {{- include "vmcp.probe" (dict "root" . "path" "/readyz" "times" .Values.readinessProbe) | nindent 2 }}
{{- if .Values.preStopSeconds }}
lifecycle:
  preStop:
    sleep:
      seconds: {{ .Values.preStopSeconds }}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "vmcp.volumeMounts" . | trim | nindent 2 }}
{{- end }}

{{- define "vmcp.args" -}}
- serve
{{- if include "vmcp.isDynamic" . }}
- --kubernetes
{{- with .Values.group }}
- {{ printf "--group=%s" . | quote }}
{{- end }}
{{- end }}
- --config=/etc/vmcp/config/config.yaml
- {{ printf "--host=%s" .Values.listen | quote }}
- --log-format=json
{{- if .Values.allowAnonymous }}
- --insecure-anonymous
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vmcp.env" -}}
{{- with include "vmcp.gateway" . }}
- name: VMCP_NAME
  value: {{ . | quote }}
{{- end }}
{{- if include "vmcp.isDynamic" . }}
- name: VMCP_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- range $name, $from := .Values.secretEnv }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $from.name | quote }}
      key: {{ $from.key | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vmcp.probe" -}}
httpGet:
  path: {{ .path }}
  port: mcp
  {{- if eq (include "vmcp.scheme" .root) "https" }}
  scheme: HTTPS
  {{- end }}
{{ toYaml .times }}
{{- end }}
