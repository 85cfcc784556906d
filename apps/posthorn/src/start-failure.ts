/** Why a process cannot start or go on, in one line that names the setting to change. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
}
