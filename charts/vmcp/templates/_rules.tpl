{{- /* What the gateway may do, and nothing else. */}}
{{- define "vmcp.rules" -}}
- apiGroups: [toolhive.stacklok.dev]
  resources:
    - virtualmcpservers
    - mcpgroups
    - mcpservers
    - mcpremoteproxies
    - mcpserverentries
    - mcpexternalauthconfigs
    - mcptoolconfigs
  verbs: [get, list, watch]
{{- with include "vmcp.gateway" . }}
- apiGroups: [toolhive.stacklok.dev]
  resources: [virtualmcpservers/status]
  resourceNames: [{{ . | quote }}]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "vmcp.leaseName" $ | quote }}]
  verbs: [get, update]
{{- end }}
{{- if .Values.rbac.namespaceWide }}
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [get, list, watch]
{{- end }}
{{- /* A rule without names would allow all of them. */}}
{{- with .Values.rbac.secretNames }}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: {{ toJson . }}
  verbs: [get, list, watch]
{{- end }}
{{- with .Values.rbac.configMapNames }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: {{ toJson . }}
  verbs: [get, list, watch]
{{- end }}
{{- end }}
