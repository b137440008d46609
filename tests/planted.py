"""The secrets in the configurations that tests write. Each is unique: if it appears in any output, it leaked."""

DATABASE = "planted as good as any"
INLINE, IN_FILE, IN_ENVIRONMENT = "planted-inline-pw", "planted-file-pw", "planted-environ-pw"
UNUSED = "planted-web-secret"
WEB, WEB_FILE = "planted-web-pw", "planted:web password"
SYSMON = "planted-sysmon-pw"
TOKEN, GRAFANA = "planted-grafana-token", "glsa_planted_token"
MISPLACED, IN_ADDRESS = "planted-misplaced", "planted-in-address"

ALL = frozenset(value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str))
