import fc from "fast-check";

/** The same cases at every run; FAST_CHECK_SEED selects another seed. */
const given = Number(process.env["FAST_CHECK_SEED"]);
fc.configureGlobal({ seed: Number.isInteger(given) && given !== 0 ? given : 20_261_115 });
