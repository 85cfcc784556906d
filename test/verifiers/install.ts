import { verifiers } from './verifiers.ts'

/* Installs what it can, and says what it cannot: `pnpm verifiers`. Never fails, for nothing depends on it. */
for (const verifier of verifiers) {
  if (verifier.command() !== null) {
    console.log(`${verifier.language}: installed already`)
    continue
  }
  try {
    await verifier.install()
    console.log(`${verifier.language}: installed`)
  } catch (error) {
    const reason = (error as Error).message.trim().split('\n').at(-1)
    console.log(`!!! ${verifier.language}: cannot be installed here (${reason}): its test will be skipped`)
  }
}
