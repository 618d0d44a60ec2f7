"""How gunicorn serves both services; options on its command line win over these."""

import os

worker_class = "config.worker.DeadlineWorker"
workers = 2
threads = 8
timeout = 60
graceful_timeout = 30
keepalive = 75
max_requests = 0
# Two services on one machine would otherwise share the path of this socket.
control_socket_disable = True
# Longer lines and fields are answered by gunicorn itself, in HTML; these leave long ids and keys to the application.
limit_request_line = 8190
limit_request_field_size = 16380
# The scheme that a proxy reports counts only when it comes from a proxy of ours.
forwarded_allow_ips = os.environ.get("TRUSTED_PROXIES", "").replace(" ", "")
accesslog = None
errorlog = "-"
loglevel = "warning"
