import path from "node:path";

const SAMPLES = path.resolve(import.meta.dirname, "../samples");
const configured = process.env["RECORDINGS_DIR"];

/**
 * Provider traffic that the tests replay: `fixtures/` (exchanges), `catalogue/` (a catalogue of seven files) and
 * `reference/`. RECORDINGS_DIR names a folder of recordings; without it, the samples in this repository are used.
 */
const RECORDINGS = configured === undefined || configured === "" ? SAMPLES : path.resolve(configured);

/** The samples cover a part of the catalogue only. */
export const usesSamples = RECORDINGS === SAMPLES;
export const FIXTURES = path.join(RECORDINGS, "fixtures");
export const SEED_CATALOGUE = path.join(RECORDINGS, "catalogue");
export const OPENAI_DOCUMENT = path.join(FIXTURES, "openai-openapi.yaml");
/** The specification of the API, which only some folders of recordings have. */
export const SPECIFICATION = path.join(RECORDINGS, "spec.md");
