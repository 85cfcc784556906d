import { expect, test } from 'vitest'
import { createKeyFlights } from './key-flights.ts'

function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('the uses of one key take turns, in order; other keys do not wait', async () => {
  const flights = createKeyFlights<string>(() => false)
  const begun: string[] = []
  const lands = new Map<string, ReturnType<typeof deferred<string>>>()
  const run = (key: string, name: string) =>
    flights.run(key, () => {
      begun.push(name)
      const flight = deferred<string>()
      lands.set(name, flight)
      return flight.promise
    })
  const first = run('k', '1')
  const second = run('k', '2')
  const third = run('k', '3')
  const other = run('l', 'other')
  await turn()
  expect(begun).toEqual(['1', 'other'])
  lands.get('1')!.resolve('one')
  expect(await first).toBe('one')
  await turn()
  lands.get('2')!.reject(new Error('its own'))
  await expect(second).rejects.toThrow('its own')
  await turn()
  lands.get('3')!.resolve('three')
  lands.get('other')!.resolve('o')
  expect(await Promise.all([third, other])).toEqual(['three', 'o'])
  await flights.idle()
  expect(flights.size).toBe(0)
})

test('a fault that ends all is the answer of those that wait, and not of the next', async () => {
  const flights = createKeyFlights<string>(() => true)
  const first = deferred<string>()
  const results = [
    flights.run('k', () => first.promise),
    flights.run('k', () => Promise.resolve('not reached')),
    flights.run('k', () => Promise.resolve('not reached')),
  ]
  const settled = Promise.allSettled(results)
  first.reject(new Error('held'))
  expect((await settled).map((each) => each.status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(flights.size).toBe(0)
  expect(await flights.run('k', () => Promise.resolve('again'))).toBe('again')
})
