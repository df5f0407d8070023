# recalld in a container: docs/how-to/run-in-a-container.md
ARG BASE=docker.io/library/debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/recalld
COPY . /src
RUN /opt/recalld/bin/pip install --no-cache-dir /src \
    && /opt/recalld/bin/pip uninstall --yes pip

FROM ${BASE}
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/*
# whoever owns the workspace: a folder of the machine that is mounted has to belong to this number
ARG UID=1000
RUN useradd --uid ${UID} --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin recalld \
    && install -d -o recalld -g recalld -m 0700 /memory
COPY --from=build /opt/recalld /opt/recalld
# the port is open in the container; compose.yaml opens it on the machine for this machine alone
ENV PATH=/opt/recalld/bin:$PATH \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    XDG_CACHE_HOME=/tmp \
    RECALLD_WORKSPACE=/memory \
    RECALLD_SERVE_HOST=0.0.0.0 \
    RECALLD_SERVE_PORT=8377 \
    RECALLD_SERVE_ALLOW_REMOTE=true
USER recalld
VOLUME /memory
EXPOSE 8377
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python3", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8377/healthz', timeout=4)"]
CMD ["recalld", "run"]
