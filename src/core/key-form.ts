// How a line of a key's form is written (http/origin-key.ts): the header, whether its value is quoted, and what follows the key.

/** A line that is written otherwise would give the origin no key. */
export const KEY_FORM_LINE = /^([^:\s]+): ("?)\{key\}(.*)$/;
