{{- /* The config file: what the values say, and what the chart knows better. */}}
{{- define "vmcp.config" -}}
{{- $whole := deepCopy .Values.config }}
{{- with .Values.apiKeys }}
{{- if .existingSecret }}
{{- $_ := dict "type" "api_key" "keysFile" (printf "/etc/vmcp/api-keys/%s" .key) | set $whole "incomingAuth" }}
{{- end }}
{{- end }}
{{- $server := include "vmcp.addedToServer" . | fromYaml | mergeOverwrite (default dict $whole.server) }}
{{- if $server }}
{{- $_ := set $whole "server" $server }}
{{- end }}
{{- toYaml $whole }}
{{- end }}

{{- define "vmcp.addedToServer" -}}
{{- if .Values.metrics.enabled }}
opsHost: {{ .Values.listen | quote }}
{{- end }}
{{- if .Values.sealKey.existingSecret }}
sealKeyFile: /etc/vmcp/seal-key/{{ .Values.sealKey.key }}
{{- end }}
{{- if .Values.tls.existingSecret }}
tls: {certFile: /etc/vmcp/tls/tls.crt, keyFile: /etc/vmcp/tls/tls.key}
{{- end }}
{{- end }}

{{- /* A digest of what a running gateway cannot take over: only its changes make new pods. */}}
{{- define "vmcp.fixedConfig" -}}
{{- $whole := include "vmcp.config" . | fromYaml }}
{{- $server := default dict $whole.server }}
{{- $fixed := pick $server "path" "sse" "opsHost" "sealKeyEnv" "sealKeyFile" }}
{{- dict "server" $fixed "tls" (hasKey $server "tls") "telemetry" $whole.telemetry | toJson | sha256sum }}
{{- end }}

{{- define "vmcp.scheme" -}}
{{- $whole := include "vmcp.config" . | fromYaml }}
{{- hasKey (default dict $whole.server) "tls" | ternary "https" "http" }}
{{- end }}

{{- define "vmcp.path" -}}
{{- dig "server" "path" "/mcp" .Values.config }}
{{- end }}

{{- define "vmcp.asksForKeys" -}}
{{- $auth := default dict (include "vmcp.config" . | fromYaml).incomingAuth }}
{{- if ne (default "anonymous" $auth.type) "anonymous" }}yes{{ end }}
{{- end }}
