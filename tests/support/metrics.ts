/** The sum of a metric over its series, or over those with all of these labels; 0 when there is none. */
export async function metricSum(
  { gateway: { url } }: { readonly gateway: { readonly url: string } },
  name: string,
  ...labels: readonly string[]
): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  let sum = 0;
  for (const [, series = "", value = ""] of text.matchAll(new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, "gm")))
    if (labels.every((label) => series.includes(label))) sum += Number(value);
  return sum;
}
