export type Axis = { label: string; log?: boolean }

export type Line = { name: string; points: readonly (readonly [x: number, y: number])[] }

export type LinePlot = {
  title: string
  x: Axis
  /** From zero. */
  y: Axis
  lines: readonly Line[]
}

const width = 720
const height = 380
const area = { left: 78, right: 46, top: 72, bottom: 58 }
const right = width - area.right
const bottom = height - area.bottom

// A page shows it as an image: it has the reader's preference of light or dark, and nothing else of the page's.
const style = `
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600; font-size: 15px }
    .paper { fill: #ffffff }
    .grid { stroke: #d1d9e0 }
    .line { fill: none; stroke-width: 2.25 }
    .l0 { stroke: #0969da } .f0 { fill: #0969da }
    .l1 { stroke: #bc4c00 } .f1 { fill: #bc4c00 }
    .l2 { stroke: #1a7f37 } .f2 { fill: #1a7f37 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .paper { fill: #0d1117 }
      .grid { stroke: #3d444d }
      .l0 { stroke: #4493f8 } .f0 { fill: #4493f8 }
      .l1 { stroke: #f0883e } .f1 { fill: #f0883e }
      .l2 { stroke: #3fb950 } .f2 { fill: #3fb950 }
    }`

/** Lines over an axis, at most three, as an SVG that is legible on light and on dark. */
export function drawLines({ title, x, y, lines }: LinePlot): string {
  const xs = lines.flatMap(({ points }) => points.map(([at]) => at))
  const ys = lines.flatMap(({ points }) => points.map(([, value]) => value))
  const xTicks = x.log ? decades(Math.min(...xs), Math.max(...xs)) : ticks(Math.max(...xs))
  const yTicks = ticks(Math.max(...ys))
  const xAt = scale(x.log ? Math.log10 : (at) => at, xTicks, area.left, right)
  const yAt = scale((at) => at, yTicks, bottom, area.top)

  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `  <title>${asXml(title)}</title>`,
    `  <style>${style}\n  </style>`,
    `  <rect class="paper" width="${width}" height="${height}" rx="6"/>`,
    `  <text class="title" x="${area.left}" y="28">${asXml(title)}</text>`,
  ]
  for (const tick of yTicks) {
    const at = round(yAt(tick))
    out.push(`  <line class="grid" x1="${area.left}" y1="${at}" x2="${right}" y2="${at}"/>`)
    out.push(`  <text x="${area.left - 8}" y="${at + 4}" text-anchor="end">${format(tick)}</text>`)
  }
  for (const tick of xTicks) {
    const at = round(xAt(tick))
    out.push(`  <line class="grid" x1="${at}" y1="${bottom}" x2="${at}" y2="${bottom + 5}"/>`)
    out.push(`  <text x="${at}" y="${bottom + 21}" text-anchor="middle">${format(tick)}</text>`)
  }
  const middle = (area.top + bottom) / 2
  out.push(`  <text x="${(area.left + right) / 2}" y="${height - 12}" text-anchor="middle">${asXml(x.label)}</text>`)
  out.push(
    `  <text transform="rotate(-90 18 ${middle})" x="18" y="${middle}" text-anchor="middle">${asXml(y.label)}</text>`,
  )
  for (const [n, { name, points }] of lines.entries()) {
    const places = points.map(([at, value]) => [round(xAt(at)), round(yAt(value))] as const)
    out.push(`  <polyline class="line l${n}" points="${places.map((place) => place.join(',')).join(' ')}"/>`)
    for (const [cx, cy] of places) out.push(`  <circle class="f${n}" cx="${cx}" cy="${cy}" r="3"/>`)
    if (lines.length === 1) continue
    const from = area.left + n * 190
    out.push(`  <line class="line l${n}" x1="${from}" y1="50" x2="${from + 22}" y2="50"/>`)
    out.push(`  <text x="${from + 28}" y="54">${asXml(name)}</text>`)
  }
  out.push('</svg>', '')
  return out.join('\n')
}

/** From zero to above the highest value, four to eight of them. */
function ticks(most: number): number[] {
  const rough = most / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const gap = [1, 2, 2.5, 5, 10].map((n) => n * power).find((each) => each >= rough)!
  return Array.from({ length: Math.ceil(most / gap) + 1 }, (_, n) => n * gap)
}

function decades(least: number, most: number): number[] {
  const from = Math.floor(Math.log10(least))
  return Array.from({ length: Math.ceil(Math.log10(most)) - from + 1 }, (_, n) => 10 ** (from + n))
}

function scale(by: (value: number) => number, over: readonly number[], from: number, to: number) {
  const [low, high] = [by(over[0]!), by(over.at(-1)!)]
  return (value: number): number => from + ((by(value) - low) / (high - low)) * (to - from)
}

const round = (value: number): number => Math.round(value * 10) / 10
const format = (value: number): string => value.toLocaleString('en')
const asXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
