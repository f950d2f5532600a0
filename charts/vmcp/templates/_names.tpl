{{- define "vmcp.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- /* Short enough that the longest suffix of ours leaves a name of 63 characters. */}}
{{- define "vmcp.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $both := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $both .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "vmcp.selectorLabels" -}}
app.kubernetes.io/name: {{ include "vmcp.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Of objects. Whose labels the values name too, those of the chart stay. */}}
{{- define "vmcp.labels" -}}
{{- $own := include "vmcp.selectorLabels" . | fromYaml }}
{{- $chart := printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- $_ := set $own "helm.sh/chart" $chart }}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion }}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- merge $own .Values.commonLabels | toYaml }}
{{- end }}

{{- /* Of pods: another version of the chart alone makes no new ones. */}}
{{- define "vmcp.podLabels" -}}
{{- $own := include "vmcp.selectorLabels" . | fromYaml }}
{{- merge $own .Values.podLabels .Values.commonLabels | toYaml }}
{{- end }}

{{- define "vmcp.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "vmcp.labels" . | nindent 2 }}
{{- end }}

{{- /* Empty: the namespace's default one, which is given no rights here. */}}
{{- define "vmcp.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "vmcp.fullname" .) "" }}
{{- default $own .Values.serviceAccount.name }}
{{- end }}

{{- define "vmcp.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag | printf ":%s" }}
{{- .Values.image.digest | empty | ternary $tag (printf "@%s" .Values.image.digest) | printf "%s%s" .Values.image.repository }}
{{- end }}

{{- define "vmcp.isDynamic" -}}
{{- if eq .Values.mode "dynamic" }}yes{{ end }}
{{- end }}

{{- /* The VirtualMCPServer that is served; empty where a group is, and with mode: static. */}}
{{- define "vmcp.gateway" -}}
{{- $server := .Values.virtualMCPServer }}
{{- if and (include "vmcp.isDynamic" .) (or $server.create $server.name) }}
{{- default (include "vmcp.fullname" .) $server.name }}
{{- end }}
{{- end }}

{{- /* The MCPGroup that is served, as far as the values tell. */}}
{{- define "vmcp.group" -}}
{{- $own := .Values.virtualMCPServer.create | ternary (include "vmcp.gateway" .) "" }}
{{- $named := dig "groupRef" "name" "" .Values.virtualMCPServer.spec }}
{{- coalesce .Values.group $named $own }}
{{- end }}

{{- define "vmcp.leaseName" -}}
{{- include "vmcp.gateway" . }}-vmcp-status
{{- end }}
