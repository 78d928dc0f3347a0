/** What the gateway is made of, as CycloneDX. */
export function sbom(options: { all: boolean }): {
  readonly components: readonly {
    readonly "bom-ref": string;
    readonly purl: string;
    readonly scope: string;
    readonly licenses?: readonly ({ readonly expression: string } | { readonly license: { readonly id: string } })[];
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};
