import { hmacSha256Hex } from "../../kit/secret.ts";

/** HMAC-SHA256 over `timestamp.body`, in hex. */
export function webhookSignature(secret: string, timestamp: number, body: string): string {
  return hmacSha256Hex(secret, `${timestamp}.${body}`);
}
