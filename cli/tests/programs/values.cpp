// Prints the arguments and the results of its functions as ntrace prints them.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

struct Point { int x; double y; };
struct Base { int id; };
struct Derived : Base { bool on; };
enum class Color : unsigned char { RED, GREEN = 5 };

#define APART __attribute__((noipa))

APART std::string texts(std::string s, const std::string &r, std::string_view v, const char *c) {
    std::printf("texts(s=\"%s\", r=\"%s\", v=\"%.*s\", c=\"%s\") = \"%s\"\n", s.c_str(), r.c_str(), (int)v.size(), v.data(), c, (s + r).c_str());
    return s + r;
}

APART unsigned long containers(std::vector<int> w, const std::vector<Point> &p, Derived d, Color c) {
    std::printf("containers(w=[%d, %d, %d], p=[{x=%d, y=%.2f}], d={{…}, on=%s}, c=GREEN) = %zu\n", w[0], w[1], w[2], p[0].x, p[0].y, d.on ? "true" : "false", w.size());
    return w.size() + 0 * (int)c;
}

APART int counted(std::vector<short> w, std::string s) {
    std::printf("counted(w=[0, 1, 2, 3, 4, 5, 6, 7, %zu more], s=\"%.64s\"…) = %zu\n", w.size() - 8, s.c_str(), w.size());
    return w.size();
}

APART const Point *behind(const Point *p, Derived *d, std::string *s, Point *none, Point *&twice) {
    std::printf("behind(p=%p -> {x=%d, y=%.2f}, d=%p -> {{…}, on=%s}, s=%p -> \"%s\", none=0x0, twice=%p -> {x=%d, y=%.2f}) = %p -> {x=%d, y=%.2f}\n",
                (void *)p, p->x, p->y, (void *)d, d->on ? "true" : "false", (void *)s, s->c_str(), (void *)twice, twice->x, twice->y, (void *)p, p->x, p->y);
    return p;
}

int main() {
    std::vector<short> many;
    for (int i = 0; i < 100; i++)
        many.push_back(i);
    texts("hello", "a text that is too long for the string itself", "view", "c");
    Derived d;
    d.id = 1, d.on = true;
    containers({1, -2, 3}, {{7, 1.75}}, d, Color::GREEN);
    counted(many, std::string(100, 'x'));
    Point point{-3, 0.25}, other{5, -1.25}, *there = &other;
    std::string text = "behind";
    behind(&point, &d, &text, nullptr, there);
}
