{{- /* All that is wrong with the values taken together, a line each; what a single one may hold is in values.schema.json. */}}
{{- define "vmcp.problems" -}}
{{- include "vmcp.problems.mode" . }}
{{- include "vmcp.problems.auth" . }}
{{- include "vmcp.problems.config" . }}
{{- include "vmcp.problems.pods" . }}
{{- include "vmcp.problems.network" . }}
{{- end }}

{{- define "vmcp.problems.mode" -}}
{{- $server := .Values.virtualMCPServer }}
{{- if include "vmcp.isDynamic" . }}
{{- include "vmcp.problems.dynamic" . }}
{{- else }}
{{- if not (hasKey .Values.config "backends") }}
- config.backends: mode "static" serves what it lists (docs/config.md); for the custom resources of the namespace set mode: dynamic
{{- end }}
{{- if or $server.name $server.create $server.spec }}
- virtualMCPServer: it does nothing with mode "static"
{{- end }}
{{- if .Values.group }}
- group: it does nothing with mode "static"
{{- end }}
{{- if .Values.mcpGroup.create }}
- mcpGroup.create: it does nothing with mode "static"
{{- end }}
{{- if or .Values.rbac.secretNames .Values.rbac.configMapNames .Values.rbac.namespaceWide }}
- rbac: with mode "static" there is no Role; `mounts` and `secretEnv` bring Secrets and ConfigMaps into the pod
{{- end }}
{{- end }}
{{- end }}

{{- define "vmcp.problems.dynamic" -}}
{{- $server := .Values.virtualMCPServer }}
{{- if and .Values.group (or $server.name $server.create) }}
- group: it does not go together with virtualMCPServer.name or virtualMCPServer.create
{{- else if not (or .Values.group $server.name $server.create) }}
- virtualMCPServer.name: name the VirtualMCPServer to serve, or make one with virtualMCPServer.create: true, or serve all members of an MCPGroup with `group`; for a config file alone set mode: static
{{- end }}
{{- if and $server.spec (not $server.create) }}
- virtualMCPServer.spec: it does nothing without virtualMCPServer.create: true
{{- end }}
{{- if and .Values.mcpGroup.create (not (or .Values.group $server.create)) }}
- mcpGroup.create: it needs `group` or virtualMCPServer.create: true, which tell its name
{{- end }}
{{- if and .Values.rbac.namespaceWide (or .Values.rbac.secretNames .Values.rbac.configMapNames) }}
- rbac.namespaceWide: it allows all Secrets and ConfigMaps, so that rbac.secretNames and rbac.configMapNames do nothing: leave out the one or the others
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
- serviceAccount.name: name the one that is to be used where serviceAccount.create is false; the Role is not given to the one of all pods
{{- end }}
{{- end }}

{{- define "vmcp.problems.auth" -}}
{{- $asks := include "vmcp.asksForKeys" . }}
{{- if and .Values.apiKeys.existingSecret .Values.config.incomingAuth }}
- config.incomingAuth: apiKeys.existingSecret sets it; leave out one of the two
{{- end }}
{{- if and .Values.allowAnonymous $asks }}
- allowAnonymous: it lets everybody in, and {{ .Values.apiKeys.existingSecret | empty | ternary "config.incomingAuth" "apiKeys.existingSecret" }} asks for a key; leave out one of the two
{{- else if not (or .Values.allowAnonymous $asks) }}
- apiKeys.existingSecret: nothing says who may come in; name a Secret with the file of the API keys (`vmcp key NAME` makes its lines), or set allowAnonymous: true where the network keeps strangers out
{{- end }}
{{- end }}

{{- define "vmcp.problems.config" -}}
{{- $server := default dict .Values.config.server }}
{{- range $key, $value := dict "host" "listen" "port" "service.port" "opsHost" "metrics.enabled" "opsPort" "metrics.enabled" }}
{{- if hasKey $server $key }}
- config.server.{{ $key }}: the chart sets it; see {{ $value }}
{{- end }}
{{- end }}
{{- if and .Values.tls.existingSecret (hasKey $server "tls") }}
- config.server.tls: tls.existingSecret sets it; leave out one of the two
{{- end }}
{{- if and .Values.sealKey.existingSecret (or (hasKey $server "sealKeyEnv") (hasKey $server "sealKeyFile")) }}
- sealKey.existingSecret: config.server names a key too; leave out one of the two
{{- end }}
{{- end }}

{{- define "vmcp.problems.pods" -}}
{{- range .Values.extraEnv }}
{{- if has .name (list "VMCP_NAME" "VMCP_NAMESPACE") }}
- extraEnv: the chart sets {{ .name }}
{{- end }}
{{- if hasKey $.Values.secretEnv .name }}
- extraEnv: {{ .name }} is in secretEnv too
{{- end }}
{{- end }}
{{- $least := add .Values.preStopSeconds 25 | int }}
{{- if lt (int .Values.terminationGracePeriodSeconds) $least }}
- terminationGracePeriodSeconds: it must be {{ $least }} or more, which is preStopSeconds, 20 s for calls under way, and 5 s to end what is open
{{- end }}
{{- end }}

{{- define "vmcp.problems.network" -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) }}
- metrics.serviceMonitor.enabled: it needs metrics.enabled: true
{{- end }}
{{- if and .Values.metrics.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.monitoring) }}
- networkPolicy.monitoring: nobody would reach the operations port; name who reads the metrics, such as [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
{{- end }}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") }}
- service.nodePort: it needs service.type NodePort or LoadBalancer
{{- end }}
{{- end }}
