{{- define "ase-exporter.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "ase-exporter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ase-exporter.labels" -}}
{{ include "ase-exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The configuration file, with the paths of the passwords in place of the keys of the Secret. */ -}}
{{- define "ase-exporter.config" -}}
{{- $auth := dict }}
{{- range $name, $login := .Values.auth }}
{{- $_ := set $auth $name (dict "user" $login.user "password_file" (printf "/etc/ase-exporter/secret/%s" $login.key)) }}
{{- end }}
{{- merge (dict "targets" .Values.targets "auth" $auth) .Values.config | toYaml }}
{{- end }}
