/** The public base URL of the API, injected by the gateway: behind a proxy it may differ from the page's origin. */
export function baseUrl(): string {
  const configured = document.querySelector<HTMLMetaElement>('meta[name="base-address"]')?.content ?? "";
  return configured === "" || configured.startsWith("%") ? `${location.origin}/v1` : configured;
}
