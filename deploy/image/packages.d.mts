export function packagesThatRun(root: string, folders?: readonly string[]): ReadonlySet<string>;
export function removeOtherPackages(root: string): void;
