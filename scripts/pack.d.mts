/** Makes the release package in this folder and returns the path of its tarball. */
export function packRelease(target: string): Promise<string>;
