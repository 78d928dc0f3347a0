import fc from "fast-check";

/** The same cases at every run; another seed is tried with FAST_CHECK_SEED. */
const given = Number(process.env["FAST_CHECK_SEED"]);
fc.configureGlobal({ seed: Number.isInteger(given) && given !== 0 ? given : 20_261_115 });
