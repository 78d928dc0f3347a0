import { hmacSha256Hex } from "../../kit/secret.ts";

/** HMAC-SHA256 over `timestamp.body`, in hex: who has the secret can tell that the gateway sent this, and when. */
export function webhookSignature(secret: string, timestamp: number, body: string): string {
  return hmacSha256Hex(secret, `${timestamp}.${body}`);
}
