/** A name as HTTP allows it. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What no value can hold: control characters, and so any line break; and what has no byte of its own. */
export const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;
