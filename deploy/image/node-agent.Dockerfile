# Container image of the node agent. From the project's folder:
#
#   docker build -f deploy/image/node-agent.Dockerfile -t inference-node:0.1.0 .
#   docker run --read-only --cap-drop ALL --network host -e GATEWAY_NODE_TOKEN inference-node:0.1.0 \
#     --url https://gateway.example.eu --upstream http://127.0.0.1:11434/v1
#
# It has the same file as the gateway serves at /node/agent.mjs. docs/guides/nodes.md explains nodes.

FROM node:26.10.0-bookworm-slim AS build
WORKDIR /app
ENV npm_config_cache=/tmp/npm
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts scripts
COPY src src
RUN node_modules/.bin/node scripts/bundle.mjs /agent

FROM node:26.10.0-bookworm-slim
LABEL org.opencontainers.image.title="Inference Gateway node agent" \
      org.opencontainers.image.description="Connects a local model server to an Inference Gateway" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="node:26.10.0-bookworm-slim"
COPY --from=build --chown=0:0 /agent/agent.mjs /app/agent.mjs
COPY --chown=0:0 LICENSE /app/
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/agent.mjs"]
