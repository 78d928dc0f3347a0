import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { JSON_ANSWER } from "./payload.ts";

/** `return` answers a POST from memory; a static file would be refused with 405. */
export function upstreamConfig(folder: string, port: number): string {
  return config(
    folder,
    `server {
      listen 127.0.0.1:${port} backlog=4096;
      default_type application/json;
      location / { return 200 '${JSON_ANSWER}'; }
    }`,
  );
}

export function proxyConfig(
  folder: string,
  port: number,
  to: { readonly json: number; readonly stream: number },
): string {
  const pass = (name: string) => `location /${name}/ {
        proxy_pass http://${name}/;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_buffering off;
        proxy_request_buffering on;
      }`;
  return config(
    folder,
    `upstream json { server 127.0.0.1:${to.json}; keepalive 1024; keepalive_requests 1000000000; }
    upstream stream { server 127.0.0.1:${to.stream}; keepalive 1024; keepalive_requests 1000000000; }
    server {
      listen 127.0.0.1:${port} backlog=4096;
      ${pass("json")}
      ${pass("stream")}
    }`,
  );
}

/** Writes the configuration and returns the command that starts nginx in the foreground. */
export function nginxCommand(folder: string, text: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "nginx.conf");
  writeFileSync(file, text);
  return ["nginx", "-p", folder, "-e", path.join(folder, "error.log"), "-c", file];
}

function config(folder: string, inner: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${path.join(folder, `${name}-temp`)};`)
    .join("\n    ");
  // With a master process, as in production; `daemon off` alone keeps it in the foreground.
  return `daemon off;
  worker_processes 1;
  pid ${path.join(folder, "nginx.pid")};
  error_log ${path.join(folder, "error.log")} warn;
  events { worker_connections 8192; }
  http {
    access_log off;
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    client_body_buffer_size 1m;
    ${temporary}
    ${inner}
  }
`;
}
