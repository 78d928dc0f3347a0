# Container image of the node agent. From the project's folder:
#
#   docker build -f deploy/image/node-agent.Dockerfile -t inference-node:0.1.0 .
#   docker run --read-only --cap-drop ALL --network host -e GATEWAY_NODE_TOKEN inference-node:0.1.0 \
#     --url https://gateway.example.eu --upstream http://127.0.0.1:11434/v1
#
# For both architectures: docker buildx build --platform linux/amd64,linux/arm64 …
# It has the same file as the gateway serves at /node/agent.mjs. docs/guides/nodes.md explains nodes.

ARG NODE_IMAGE=node:26.10.0-trixie-slim@sha256:930557a230abacbc3f4fd9b8648abf8f4bee1e17cb72195dcdfb2f709bc85b33

FROM ${NODE_IMAGE} AS build
WORKDIR /app
ENV npm_config_cache=/tmp/npm
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts scripts
COPY src src
RUN node_modules/node-linux-*/bin/node scripts/bundle.mjs /agent

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Inference Gateway node agent" \
      org.opencontainers.image.description="Connects a local model server to an Inference Gateway" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build --chown=0:0 /agent/agent.mjs /app/agent.mjs
COPY --chown=0:0 LICENSE /app/
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/agent.mjs"]
