import { expect, test } from 'vitest'
import { createScope } from './scope.ts'

test('ends what was started last first, inner scopes in their place, each once', async () => {
  const scope = createScope()
  const ended: string[] = []
  const note = (name: string) => async () => void ended.push(name)
  scope.add(note('database'))
  const inner = scope.inner()
  inner.add(note('receiver'))
  const endLoad = inner.add(note('load'))
  scope.add(note('api'))
  await endLoad()
  await Promise.all([scope.end(), scope.end()])
  expect(ended).toEqual(['load', 'api', 'receiver', 'database'])
})

test('one end that fails keeps no other from being tried', async () => {
  const scope = createScope()
  let ended = false
  scope.add(async () => {
    ended = true
  })
  scope.add(() => Promise.reject(new Error('stuck')))
  await expect(scope.end()).rejects.toThrow('stuck')
  expect(ended).toBe(true)
})
