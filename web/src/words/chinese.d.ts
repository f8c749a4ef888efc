// What `scripts/words-apart.ts` gives.
declare module "virtual:chinese" {
  /** Where the Chinese words are; nothing while they stand in the tables. */
  const file: string | undefined;
  export default file;
}
