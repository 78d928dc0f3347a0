export function packagesThatRun(root: string): ReadonlySet<string>;
export function removeOtherPackages(root: string): void;
