# One image for all roles: `docker run posthorn api`, `dispatcher`, `migrate` or `receiver`.
# Dependencies come from pnpm-lock.yaml alone. The embedded Postgres is left out: POSTHORN_DATABASE_URL is needed.

FROM node:24.21.0-trixie-slim AS build
WORKDIR /build
ENV CI=true CHECKPOINT_DISABLE=1 npm_config_update_notifier=false
COPY package.json ./
# The pnpm that package.json names.
RUN npm install --global "$(node --print 'require("./package.json").packageManager')"
COPY . .
# Prisma's client is generated with the workspace's development dependencies, which then go. No package's script is run.
RUN --mount=type=cache,id=posthorn-pnpm,target=/root/.local/share/pnpm/store \
    pnpm install --frozen-lockfile --ignore-scripts --no-optional --filter posthorn-workspace --filter '@posthorn/posthorn...' && \
    node_modules/.bin/prisma generate && \
    rm -rf node_modules apps/*/node_modules packages/*/node_modules && \
    pnpm install --frozen-lockfile --ignore-scripts --no-optional --prod --offline --filter '@posthorn/posthorn...'
# Of that, what is ever read: no TypeScript, which Node refuses there, no source maps, none of Prisma's compilers for other
# databases.
RUN find node_modules/.pnpm -type f '(' -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' \
      -o -name 'swagger-ui-es-bundle*.js' -o -name 'query_compiler_*.wasm-base64.js' \
      -o -name 'query_compiler_*' ! -name 'query_compiler_fast_bg.postgresql.*' ')' -delete && \
    mkdir /image && cp -a LICENSE package.json apps packages prisma node_modules /image/

FROM debian:13.8-slim AS runtime
RUN groupadd --system --gid 10001 posthorn && \
    useradd --system --uid 10001 --gid posthorn --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin posthorn
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /image /posthorn
WORKDIR /posthorn
USER 10001:10001

# What Node compiles of it, for the user that will run it: starts and health checks then take half the time.
FROM runtime AS compiled
RUN NODE_COMPILE_CACHE=/tmp/compiled node --eval "\
      const roles = ['api', 'dispatcher', 'migrate', 'receiver'].map((role) => './apps/posthorn/src/roles/run-' + role + '.ts'); \
      Promise.all(['./apps/posthorn/src/run-command.ts', ...roles].map((file) => import(file)))" && \
    (NODE_COMPILE_CACHE=/tmp/compiled node apps/posthorn/src/main.ts || true) && \
    (NODE_COMPILE_CACHE=/tmp/compiled node apps/posthorn/src/healthcheck/main.ts || true)

FROM runtime
COPY --from=compiled /tmp/compiled node_modules/.cache/posthorn
# Every role answers for its health on this port. None writes a file.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/posthorn/node_modules/.cache/posthorn \
    POSTHORN_HOST=0.0.0.0 POSTHORN_PORT=8080 POSTHORN_HEALTH_PORT=8080
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 CMD ["node", "apps/posthorn/src/healthcheck/main.ts"]
# What is in flight is finished first, which takes a dispatcher up to 35 s: give a stop more than that.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "apps/posthorn/src/main.ts"]
