# Debian's Postgres, made to start as the official image does: the same variables, folder, port and signals.
ARG base
FROM ${base}
RUN apt-get update -qq && \
    mkdir -p /etc/postgresql-common/createcluster.d && \
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/stand-in.conf && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-17 >/dev/null && \
    rm -rf /var/lib/apt/lists/*
COPY --chmod=755 postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PGDATA=/var/lib/postgresql/data
RUN install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data && \
    install -d -o postgres -g postgres -m 2775 /var/run/postgresql
VOLUME /var/lib/postgresql/data
EXPOSE 5432
STOPSIGNAL SIGINT
LABEL posthorn.stand-in=true
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
