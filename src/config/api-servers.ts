/** Addresses of API servers, separated by commas. Pure; throws a sentence. */

export function parseServers(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const url = URL.parse(each);
      if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
        throw new Error(`'${each}' is no address of an API server; write https://HOST:PORT`);
      }
      return each;
    });
}
